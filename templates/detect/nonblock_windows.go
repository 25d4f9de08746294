package detect

// nonblock is nothing here: Windows keeps no pipes in folders.
const nonblock = 0

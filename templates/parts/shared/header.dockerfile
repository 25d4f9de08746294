# The sandbox's image. Written for the classic builder and BuildKit alike; the
# build context is this folder.

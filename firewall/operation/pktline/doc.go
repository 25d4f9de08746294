// Package pktline reads and writes the packets in which git speaks (gitprotocol-common,
// "pkt-line Format"): four hexadecimal digits that count themselves, and data.
//
//	"000bhello\n\n" + "0000" -> Read -> {Data, "hello\n\n"}, {Flush}
//
// Promises: a length that git's own reader refuses is an error, and so is a
// packet that does not arrive whole; no packet is longer than MaxData.
package pktline

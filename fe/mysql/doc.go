// Package mysql serves the MySQL client protocol for a frontend: listener,
// handshake and sign-in, the command loop, prepared statements and result
// sets. It knows nothing of SQL: what a statement means is a Session's job
// (api.go has the seam, and is the place to start).
//
// A connection's work is written for one goroutine (conn.go): it reads a command,
// calls the Session, and flushes what was written once, when the command is done
// or when 64 KB have gathered. It runs as a coroutine (routine.go), on a goroutine
// of its own, or, while its commands are short INSERTs into groups, on that of a
// poller (poller.go), which runs many connections and where nothing may block; its
// socket is then the poller's and not Go's (socket_linux.go).
// Nothing is allocated for a command in the steady state: the
// text of a statement that fits the read buffer is handed out in place, and
// rows are encoded from block vectors into a buffer that the connection
// keeps.
//
// Invariants:
//   - The packet layer never trusts a length: memory grows with the bytes
//     that really came, up to max_allowed_packet (error 1153 and close after
//     that), and a packet that ends early is error 1835, never a panic.
//   - Parameter types of a prepared statement change only by an execution
//     whose packet was whole (TestExecuteCutPackets).
//   - A command that was begun is answered: Stop waits for running commands,
//     then closes.
//   - One goroutine at a time runs a connection's coroutine. In a poller a Session
//     calls ResultWriter.MayBlock before all that may wait, but for Await.
//
// The handshake is written here although go-mysql has one: that one wants the
// clear password of each user, opens the default database before it checks
// the password, and answers for unknown users in another way than for wrong
// passwords. Its constants and its password arithmetic are used.
package mysql

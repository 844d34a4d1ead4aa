// Package bench measures ingestion: seeded rows sent by many connections over
// the MySQL protocol or as Stream Loads, and the count of the rows afterwards.
//
// The client has to be cheap, since on a small machine it takes its share from
// the server that it measures. So requests are built before the clock starts,
// one thread serves all connections with epoll (two system calls for a
// statement), and latencies go to a histogram of fixed size. Everything is
// bounded: requests in memory, statements, time, and the wait for the last
// answers.
//
// A run says what was acknowledged and what the table holds afterwards. Rows
// whose answer never came may be there or not; they are counted apart.
//
// Start reading at Run (one measurement), then loop (the connections), wire and
// load (the two protocols), Server (processes that a run starts itself).
package bench

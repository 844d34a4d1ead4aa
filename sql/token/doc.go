// Package token cuts SQL text into tokens, tells kinds of statements apart and
// finds where one statement of a packet ends and the next begins.
//
// It works on the bytes of the packet, copies nothing and knows no grammar.
// Start with Lexer.Next; Classify and Split are built on it.
//
// Invariants, each with the test that breaks without it:
//   - a token lies inside the text, is not empty except EOF, and tokens come in
//     order without overlap (FuzzLexer);
//   - quotes, back quotes and comments hide semicolons (TestSplit);
//   - a Lexer always moves forward, so that hostile text ends (FuzzLexer).
package token

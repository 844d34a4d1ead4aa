// Package httpstream reads the statement of an HTTP stream load:
//
//	INSERT INTO db.t [WITH LABEL l] [(columns)]
//	SELECT items FROM http_stream("property"="value", ...) [WHERE condition]
//
// It cuts the statement into its parts; what the items and the condition say is
// read by sql/translate. Start at Parse.
package httpstream

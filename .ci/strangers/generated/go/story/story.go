// Package story has what the stories in Go share.
package story

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"slices"
	"strconv"
)

// The messages of a role with a blank title, and salaries in the wrong order.
var Messages = []string{"title can't be blank", "salary_min must be at most salary_max"}

// URL is that of the service, or of a newer release.
var URL, Newer = os.Getenv("ROLECALL"), os.Getenv("ROLECALL_FUTURE")

// Key is an API key. That of Limited has reached the daily limit.
var Key, Limited = os.Getenv("ROLECALL_KEY"), os.Getenv("ROLECALL_LIMITED_KEY")

// Check ends the story unless a fact is true.
func Check(fact bool, about ...any) {
	if !fact {
		log.Panic(about...)
	}
}

// Must returns a value that must have no error.
func Must[T any](value T, err error) T {
	Check(err == nil, err)
	return value
}

// Passed prints the name of a column.
func Passed(column string) {
	fmt.Println(column)
}

// Pages checks the ids of all roles.
func Pages(found []int64, created int64) {
	unique := slices.Compact(slices.Sorted(slices.Values(found)))
	Check(slices.Contains(found, created) && len(unique) == len(found) && len(found) > 3, found)
	Passed("pages")
}

// OverLimit checks the response to a request over the daily limit.
func OverLimit(status int, header http.Header, code string) {
	Check(status == http.StatusTooManyRequests && code == "rate_limited", status, code)
	Check(Must(strconv.Atoi(header.Get("Retry-After"))) > 0)
	Passed("429")
}

// Body decodes the body of a response.
func Body[T any](response *http.Response) (value T) {
	Check(json.Unmarshal(Must(io.ReadAll(response.Body)), &value) == nil, response)
	return value
}

// Searches for a title and downloads the first hit: go run download.go blade runner 2049
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

var client = http.Client{Timeout: time.Minute}

// get returns the answer to a GET; it waits when the rate limit says so.
func get(path string) *http.Response {
	request, err := http.NewRequest("GET", os.Getenv("SUBCAT_URL")+path, nil)
	check(err)
	request.Header.Set("Authorization", "Bearer "+os.Getenv("SUBCAT_KEY"))
	for {
		answer, err := client.Do(request)
		check(err)
		switch answer.StatusCode {
		case http.StatusOK:
			return answer
		case http.StatusTooManyRequests:
			answer.Body.Close()
			seconds, err := strconv.Atoi(answer.Header.Get("Retry-After"))
			check(err)
			time.Sleep(time.Duration(seconds) * time.Second)
		default:
			detail, _ := io.ReadAll(answer.Body)
			check(fmt.Errorf("%s: %s %s", path, answer.Status, detail))
		}
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	query := url.Values{"query": {strings.Join(os.Args[1:], " ")}, "limit": {"1"}}
	var found struct {
		Items []struct{ ID string }
	}
	answer := get("/api/subtitles/search?" + query.Encode())
	check(json.NewDecoder(answer.Body).Decode(&found))
	if len(found.Items) == 0 {
		check(fmt.Errorf("nothing found"))
	}
	answer = get("/api/subtitles/" + found.Items[0].ID + "/download")
	_, parameters, err := mime.ParseMediaType(answer.Header.Get("Content-Disposition"))
	check(err)
	name := filepath.Base(parameters["filename"])
	file, err := os.Create(name)
	check(err)
	_, err = io.Copy(file, answer.Body)
	check(err)
	check(file.Close())
	fmt.Println(name)
}

package postgres

import "time"

// CheckURL says what is wrong with a URL, without connecting.
func CheckURL(url string) error {
	_, err := parse(url, time.Second)
	return err
}

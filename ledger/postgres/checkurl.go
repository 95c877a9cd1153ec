package postgres

import "time"

// CheckURL says what is wrong with a URL, without connecting.
func CheckURL(url string) error {
<<<<<<< HEAD
	_, err := parse(url, time.Second)
=======
	_, err := parse(url, 0)
>>>>>>> main
	return err
}

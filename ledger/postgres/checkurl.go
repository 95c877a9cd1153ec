package postgres

// CheckURL says what is wrong with a URL, without connecting.
func CheckURL(url string) error {
	_, err := parse(url, 0)
	return err
}

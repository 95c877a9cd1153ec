package redis

// CheckURL says what is wrong with a URL, without connecting.
func CheckURL(url string) error {
	_, err := parseURL(url)
	return err
}

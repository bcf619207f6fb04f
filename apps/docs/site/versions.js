const versions = [{"name":"Unreleased","href":"."}];

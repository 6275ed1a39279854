"""The probes of a broker over HTTP: does it live, is it ready, may it be stopped?"""

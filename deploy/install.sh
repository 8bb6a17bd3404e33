#!/bin/sh
# {{key 1}} {{key 2}}

#!/bin/bash
# Runs a command in a root directory made of an image and of this machine's programs. Its own namespaces are needed.
# As a container engine does, bash passes on variables whose names are no names of a shell; other shells do not.
#   enter_image.sh IMAGE ROOT PLACES COMMAND...     PLACES: directories of this machine, divided by colons
# IMAGE has the image's etc, mnt, usr/local/bin and var; they are copied. All else is this machine's, except /tmp.
set -eu
image=$1 root=$2 places=$3
shift 3
path_inside=$PATH
PATH=$PATH:/usr/sbin:/sbin
mount -t tmpfs tmpfs "$root"
for path in /*; do
    name=${path#/}
    case $name in
    dev | etc | mnt | opt | proc | sys | tmp | var) mkdir "$root/$name" ;;
    *) if [ -L "$path" ]; then
        ln -s "$(readlink "$path")" "$root/$name"
    elif [ -d "$path" ]; then
        mkdir "$root/$name"
        mount --rbind "$path" "$root/$name"
    fi ;;
    esac
done
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
IFS=:
for path in $places; do
    mkdir -p "$root$path"
    mount --rbind "$path" "$root$path"
done
unset IFS
cp -R "$image/etc" "$image/mnt" "$image/opt" "$image/var" "$root"
mount --bind "$image/usr/local/bin" "$root/usr/local/bin"
mount -t tmpfs tmpfs "$root/usr/sbin"
for name in group ld.so.cache localtime nsswitch.conf passwd; do
    [ ! -e "/etc/$name" ] || cp -L "/etc/$name" "$root/etc/$name"
done
hostname box
printf '127.0.0.1 localhost box\n' >"$root/etc/hosts"
ip link set lo up
cp -p "$image/start" "$root$START_SCRIPT"
exec chroot "$root" env "PATH=$path_inside" /bin/bash -c 'cd /var/lib/kafka && exec "$@"' bash "$@"

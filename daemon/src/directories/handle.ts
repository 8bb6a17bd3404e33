// Opens directories and small files, so that what was checked is what is read. A path can lead elsewhere
// between two calls; an open handle cannot.
import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readSync,
  readlinkSync,
  realpathSync,
} from "node:fs";

export interface DirectoryHandle extends Disposable {
  /** Present path of the open directory. */
  realPath: string;
  /** A path to something in it that leads through the handle. */
  inside: (name: string) => string;
}

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants;

/** undefined if there is no directory, or the path ends in a link. */
export function openDirectory(path: string): DirectoryHandle | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  } catch {
    return undefined;
  }
  const close = () => closeSync(descriptor);
  try {
    const isLinux = process.platform === "linux";
    const way = isLinux ? `/proc/self/fd/${descriptor}` : realpathSync(path);
    const realPath = isLinux ? readlinkSync(way) : way;
    // Removed since, so it has no path.
    if (fstatSync(descriptor).nlink === 0) throw new Error("removed");
    return { realPath, inside: (name) => `${way}/${name}`, [Symbol.dispose]: close };
  } catch {
    close();
    return undefined;
  }
}

/** Text of a plain file of at most that many bytes; undefined for links, pipes and larger files. */
export function readSmallFile(path: string, limitBytes: number): string | undefined {
  let descriptor: number;
  try {
    // Non-blocking, because opening a pipe would wait for its writer.
    descriptor = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch {
    return undefined;
  }
  try {
    const { size } = fstatSync(descriptor);
    if (!fstatSync(descriptor).isFile() || size > limitBytes) return undefined;
    const buffer = Buffer.allocUnsafe(size);
    let length = 0;
    for (let read = -1; read !== 0 && length < size; length += read) {
      read = readSync(descriptor, buffer, length, size - length, length);
    }
    return buffer.toString("utf8", 0, length);
  } catch {
    return undefined;
  } finally {
    closeSync(descriptor);
  }
}

import fs, { readFileSync } from 'node:fs';
import promises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';

// Loaded into every process of a gateway before its own code: while a file names an error, such as ENOSPC, nothing can be written below
// the data folder. The module is imported with the path of that file as its query.

const { searchParams } = new URL(import.meta.url);
const ORDER = searchParams.get('orders') ?? '';
/** Folders of the data folder. */
const FOLDERS = /\/data\/(?:uploads|inputs|assets|conversations|usage-spool)(?:\/|$)/;

function refuse(path: unknown): void {
  if (!FOLDERS.test(`${path}`)) return;
  let code: string;
  try {
    code = readFileSync(ORDER, 'utf8');
  } catch {
    return;
  }
  if (code !== '') throw Object.assign(new Error(`${code}: refused, '${path}'`), { code, syscall: 'write' });
}

const WRITES = /[wa+]/;
const { open, writeFile, appendFile, rename, mkdir, link, copyFile } = promises;
promises.open = async (path, flags = 'r', ...rest) => {
  if (WRITES.test(`${flags}`)) refuse(path);
  return open(path, flags, ...rest);
};
promises.writeFile = async (path, ...rest) => {
  refuse(path);
  return writeFile(path, ...rest);
};
promises.appendFile = async (path, ...rest) => {
  refuse(path);
  return appendFile(path, ...rest);
};
promises.rename = async (from, to) => {
  refuse(to);
  return rename(from, to);
};
promises.link = async (from, to) => {
  refuse(to);
  return link(from, to);
};
promises.copyFile = async (from, to, ...rest) => {
  refuse(to);
  return copyFile(from, to, ...rest);
};
promises.mkdir = (async (path: string, options?: object) => {
  refuse(path);
  return mkdir(path, options);
}) as typeof mkdir;
// Streams open their file so.
const openFile = fs.open;
fs.open = ((path: string, flags: string, mode: number, callback: (error: unknown) => void) => {
  try {
    if (WRITES.test(flags)) refuse(path);
  } catch (error) {
    return callback(error);
  }
  return openFile(path, flags, mode, callback);
}) as typeof openFile;
syncBuiltinESMExports();

import { readFileSync, rmSync } from 'node:fs';
import promises from 'node:fs/promises';
import { ServerResponse } from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import process from 'node:process';

// Loaded into every process of a gateway before its own code: kills the one that comes to the step that a file names, once. The
// module is imported with the path of that file as its query.

const ORDER = new URL(import.meta.url).searchParams.get('orders') ?? '';

function dieAt(step: string): void {
  try {
    if (readFileSync(ORDER, 'utf8') !== step) return;
  } catch {
    return;
  }
  rmSync(ORDER);
  process.kill(process.pid, 'SIGKILL');
}

const isText = /apps\/text\//.test(process.argv[1] ?? '');

const { link, rename } = promises;
promises.link = (from, to) => {
  if (`${to}`.endsWith('-begun')) dieAt('before the begin');
  return link(from, to);
};
promises.rename = async (from, to) => {
  if (/job_\w+-0\.\w+$/.test(`${to}`)) dieAt('before the image is stored');
  if (isText && /\/inputs\//.test(`${to}`)) dieAt('before the job is queued');
  await rename(from, to);
  if (/job_\w+-output\.json$/.test(`${to}`)) dieAt('after all is stored');
};
syncBuiltinESMExports();

const { writeHead } = ServerResponse.prototype;
ServerResponse.prototype.writeHead = function (...head: unknown[]) {
  const { method, url = '' } = this.req;
  if (isText && method === 'POST' && url.startsWith('/v1/responses')) dieAt('before the answer');
  return Reflect.apply(writeHead, this, head);
};

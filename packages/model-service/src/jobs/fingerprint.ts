import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { type JsonBody, LARGE_BODY_BYTES } from '@gateway/service-kit/request/json-body';
import { createTaskThread } from '@gateway/service-kit/threads/task-thread';
import type { FingerprintTask } from './fingerprint-task.ts';

/** A file of a form, as it lies in the uploads area. */
interface FormFile {
  readonly part: string;
  readonly fileName: string;
  readonly uploadId: string;
}

interface Form {
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly files: readonly FormFile[];
}

/** The same for JSON of the same content to the same endpoint, in whatever order and spacing its members come. */
export const fingerprintOfJson = (endpoint: string, body: unknown): string =>
  digest(JSON.stringify([endpoint, sorted(body)]));

const thread = createTaskThread<FingerprintTask, string>({
  module: new URL('./fingerprint-task.ts', import.meta.url),
  timeLimitMs: 20_000,
  maxHeapMb: 512,
  onTooMuch: () => new GatewayError('request_too_large', 'The request takes too long to be read.'),
});

/** The same of a whole body: a large one is read in a thread. */
export const fingerprintOfBody = (endpoint: string, { bytes, value }: JsonBody): string | Promise<string> =>
  bytes.length > LARGE_BODY_BYTES ? thread.run({ endpoint, bytes }) : fingerprintOfJson(endpoint, value);

/** The same for forms of the same parts to the same endpoint, whatever their boundary is: each file counts by its bytes. */
export async function fingerprintOfForm(
  endpoint: string,
  { fields, files }: Form,
  uploads: { pathOf(uploadId: string): string },
): Promise<string> {
  const parts: unknown[] = [];
  for (const { part, fileName, uploadId } of files)
    parts.push([part, fileName, await digestOfFile(uploads.pathOf(uploadId))]);
  return digest(JSON.stringify([endpoint, fields, parts]));
}

const digest = (text: string): string => createHash('sha256').update(text).digest('base64url');

async function digestOfFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return hash.digest('base64url');
}

/** Its depth is bounded where the body was read. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return members.map(([name, member]) => [name, sorted(member)]);
}

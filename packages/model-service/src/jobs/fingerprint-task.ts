import { serveTasks } from '@gateway/service-kit/threads/serve-tasks';
import { fingerprintOfJson } from './fingerprint.ts';

export interface FingerprintTask {
  readonly endpoint: string;
  /** Of JSON that has been checked. */
  readonly bytes: Uint8Array;
}

serveTasks<FingerprintTask, string>(({ endpoint, bytes: { buffer, byteOffset, byteLength } }) => ({
  result: fingerprintOfJson(endpoint, JSON.parse(Buffer.from(buffer, byteOffset, byteLength).toString())),
}));

import { serveTasks } from '../threads/serve-tasks.ts';
import { parseJson } from './json-body.ts';

export interface ParseTask {
  readonly bytes: Uint8Array;
  readonly maxDepth: number;
  readonly maxValues: number;
}

serveTasks<ParseTask, unknown>(({ bytes: { buffer, byteOffset, byteLength }, maxDepth, maxValues }) => ({
  result: parseJson(Buffer.from(buffer, byteOffset, byteLength), maxDepth, undefined, maxValues),
}));

import { serveTasks } from '../threads/serve-tasks.ts';
import { parseFewValues } from './json-body.ts';

export interface ParseTask {
  readonly bytes: Uint8Array;
  readonly maxDepth: number;
}

serveTasks<ParseTask, unknown>(({ bytes: { buffer, byteOffset, byteLength }, maxDepth }) => ({
  result: parseFewValues(Buffer.from(buffer, byteOffset, byteLength), maxDepth),
}));

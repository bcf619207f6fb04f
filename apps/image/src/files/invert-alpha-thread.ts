import { parentPort, workerData } from 'node:worker_threads';
import { z } from 'zod';
import type { Inverted } from './invert-alpha.ts';
import { BadPng, invertPng } from './invert-png.ts';

const Task = z.object({ sourcePath: z.string(), targetPath: z.string() });

const { sourcePath, targetPath } = Task.parse(workerData);
const answer = (inverted: Inverted) => parentPort?.postMessage(inverted);
await invertPng(sourcePath, targetPath).then(
  () => answer({ refused: null }),
  (error: unknown) => {
    if (!(error instanceof BadPng)) throw error;
    answer({ refused: error.message });
  },
);

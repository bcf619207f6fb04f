import { dataOf } from '@gateway/contracts/event-stream/frame-data';
import { answerLength } from '../../../wire/answer-length.ts';
import type { StreamReader } from '../../../wire/stream/stream-reader.ts';
import { readEvent } from '../../../wire/stream/stream-reader.ts';
import { laterUsage, type Usage } from '../../../wire/usage.ts';
import { readUsage } from '../reply/usage.ts';

/** Reads what a stream has used that nobody gets. */
export function createUsageReader(): Pick<StreamReader, 'frame' | 'usage' | 'outputLength'> {
  let usage: Usage | null = null;
  let outputLength = 0;
  return {
    frame(frame) {
      const data = dataOf(frame);
      const reply = data === null ? null : readEvent(data);
      if (reply === null) return 'hidden';
      usage = laterUsage(usage, readUsage(reply));
      outputLength += answerLength(reply);
      return 'event';
    },
    get usage() {
      return usage;
    },
    get outputLength() {
      return outputLength;
    },
  };
}

import { ConverseEvent } from '@gateway/contracts/amazon/converse-wire';
import type { Frame } from '@gateway/contracts/event-stream/frame-reader';
import { readEvent, type StreamReader } from '../../../wire/stream/stream-reader.ts';
import { laterUsage, type Usage } from '../../../wire/usage.ts';
import { readUsage } from '../reply/usage.ts';

/** Reads what a stream has used that nobody gets. */
export function createConverseUsageReader(): Pick<StreamReader, 'frame' | 'usage' | 'outputLength'> {
  let usage: Usage | null = null;
  let outputLength = 0;
  return {
    frame({ data }: Frame) {
      const read = data === null ? undefined : ConverseEvent.safeParse(readEvent(data)).data;
      if (read?.metadata !== undefined) usage = laterUsage(usage, readUsage(read.metadata));
      const { text = '', toolUse, reasoningContent } = read?.contentBlockDelta?.delta ?? {};
      const input = typeof toolUse?.input === 'string' ? toolUse.input : '';
      outputLength += text.length + input.length + (reasoningContent?.text?.length ?? 0);
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

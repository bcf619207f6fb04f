import { type EventFrame, eventDataOf } from '@gateway/contracts/event-stream/event-frame';
import type { Output, RelayedStream } from '@gateway/model-service/stream/relayed-stream';
import type { Reply } from '@gateway/upstream/replies/reply';
import { MessageRecorder, type RecordedMessage } from '../../protocols/messages/reply/message-recorder.ts';
import { turnIn } from '../request/history.ts';
import type { TextCall } from '../request/text-call.ts';

/** What has a stream's message stored before its caller gets the end of it; undefined where its call is no turn of a thread. */
export function storesTurn(
  { history, request }: Pick<TextCall, 'history' | 'request'>,
  { candidate }: Reply,
  stream: Pick<RelayedStream, 'isWhole'>,
): ((output: Output, isLast: boolean) => Output | Promise<Output>) | undefined {
  const turn = turnIn(history);
  if (turn === null) return undefined;
  const recorder = new MessageRecorder();
  let isStored = false;
  return (output, isLast) => {
    if (Array.isArray(output)) record(recorder, output);
    if (isStored || !stream.isWhole) return output;
    const { message } = recorder;
    // Of a whole answer the last events may follow with the end of its upstream's stream.
    if (message === null && !isLast) return output;
    isStored = true;
    return turn.store(message, { request, candidate }).then(() => output);
  };
}

/** The message that a caller gets as these frames; null where it is not to be stored. */
export function messageIn(frames: readonly EventFrame[]): RecordedMessage | null {
  const recorder = new MessageRecorder();
  record(recorder, frames);
  return recorder.message;
}

function record(recorder: MessageRecorder, frames: readonly EventFrame[]): void {
  for (const frame of frames) {
    const data = eventDataOf(frame);
    if (data !== null) recorder.record(data);
  }
}

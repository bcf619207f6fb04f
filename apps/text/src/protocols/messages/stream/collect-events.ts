import { type JsonObject, objectAt } from '../../../wire/json-object.ts';
import type { EventCollector } from '../../../wire/stream/event-collector.ts';
import { TurnRecorder } from '../reply/paused-turn.ts';
import { mergeUsage } from '../reply/usage.ts';

/** A message whose first event its server leaves out. */
const UNNAMED: JsonObject = { type: 'message', role: 'assistant' };

/** The message as it began, with its blocks and how it ended. */
export function createMessageCollector(): EventCollector {
  const turn = new TurnRecorder();
  let message: JsonObject | null = null;
  let usage: JsonObject | null = null;
  return {
    take: (event, data) => {
      if (event.type === 'message_start') {
        message = objectAt(event, 'message');
        usage = mergeUsage(null, message?.usage);
        return;
      }
      message ??= UNNAMED;
      if (event.type === 'message_delta') {
        const { delta: _, type: __, usage: reported, ...members } = event;
        message = { ...message, ...members, ...objectAt(event, 'delta') };
        usage = mergeUsage(usage, reported);
      } else if (event.type === 'message_stop') usage = mergeUsage(usage, event.usage);
      else turn.record(data);
    },
    body: () => message && { ...message, content: turn.content, ...(usage && { usage }) },
  };
}

import { responseEndAfter } from '@gateway/contracts/event-stream/stream-events';
import { type JsonObject, objectAt, textAt } from '../../../wire/json-object.ts';
import type { EventCollector } from '../../../wire/stream/event-collector.ts';
import { missingMembers } from '../reply/whole-output.ts';
import { createOutputCollector } from './output-collector.ts';

/** The last event has the response. Where it lacks the output, the items have it. */
export function createResponseCollector(): EventCollector {
  const output = createOutputCollector();
  let response: JsonObject | null = null;
  let lastEvent = '';
  return {
    take: (event, data) => {
      const shown = objectAt(event, 'response');
      const type = textAt(event, 'type') ?? '';
      if (shown !== null) [response, lastEvent] = [shown, type];
      else if (responseEndAfter(type) === undefined) output.event(type, event, data);
      else [response, lastEvent] = [response ?? { object: 'response', output: [] }, type];
    },
    body: () => response && { ...response, ...missingMembers(response, lastEvent, output) },
  };
}

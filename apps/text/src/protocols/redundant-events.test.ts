import { recordedStreamNames } from '@gateway/simulator/recorded-stream';
import { expect, test } from 'vitest';
import { StreamCollector } from '../conversion/collect-stream.ts';
import { testReplyContext } from '../testing/test-context.ts';
import { CALLERS, dataOf, planFor, streamFixtures } from '../testing/test-streams.ts';
import { isObject, type JsonObject, objectOf } from '../wire/json-object.ts';
import type { TextProtocol } from '../wire/text-protocol.ts';

/**
 * Events of a stream say most things several times, and servers leave some of them out. Whatever is left, the answer is the
 * same as long as it is said once.
 */

type Events = readonly JsonObject[];
type Leave = (events: Events) => Events;

/** The answer of a stream as the body that a caller gets, without the ids, which may be minted. */
function answer(caller: TextProtocol, upstream: TextProtocol, events: Events): unknown {
  const collector = new StreamCollector(planFor(caller, upstream), testReplyContext());
  for (const event of events) collector.push(Buffer.from(`data: ${JSON.stringify(event)}\n\n`));
  return withoutIds(JSON.parse(JSON.stringify(collector.end().body)));
}

const withoutIds = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutIds);
  if (!isObject(value)) return value;
  const members = Object.entries(value).filter(([name]) => !/^(id|call_id)$/.test(name));
  return Object.fromEntries(members.map(([name, inner]) => [name, withoutIds(inner)]));
};

const without = (event: JsonObject, ...names: string[]): JsonObject =>
  Object.fromEntries(Object.entries(event).filter(([name]) => !names.includes(name)));
const typeOf = ({ type }: JsonObject): string => String(type);
const ofType =
  (pattern: RegExp): Leave =>
  (events) =>
    events.filter((event) => pattern.test(typeOf(event)));
const each =
  (change: (event: JsonObject) => JsonObject): Leave =>
  (events) =>
    events.map(change);
const inOrder =
  (...changes: readonly Leave[]): Leave =>
  (events) =>
    changes.reduce((left, change) => change(left), events);

const END = '^response\\.(created|completed|incomplete)$';

/** An item without its words. */
const silent = (item: unknown): JsonObject => ({
  ...objectOf(item),
  ...('content' in objectOf(item) && { content: [] }),
  ...('summary' in objectOf(item) && { summary: [] }),
  ...('arguments' in objectOf(item) && { arguments: '' }),
  ...('input' in objectOf(item) && { input: '' }),
});
const silentItems = each((event) => (isObject(event.item) ? { ...event, item: silent(event.item) } : event));
const noOutput = each((event) =>
  isObject(event.response) ? { ...event, response: { ...event.response, output: [] } } : event,
);
const noAnnouncement = each((event) =>
  typeOf(event) === 'response.output_item.added'
    ? { ...event, item: without(objectOf(event.item), 'name', 'call_id', 'id') }
    : event,
);

const RESPONSES: Readonly<Record<string, Leave>> = {
  'only finished items': inOrder(ofType(new RegExp(`${END}|output_item\\.done`)), noOutput),
  'only the last event': ofType(/^response\.(completed|incomplete)$/),
  'no deltas': (events) => events.filter((event) => !/delta$/.test(typeOf(event))),
  'only whole texts': inOrder(
    (events) => events.filter((event) => !/delta$|content_part\.done|summary_part\.done/.test(typeOf(event))),
    silentItems,
    noOutput,
  ),
  'only parts that are done': inOrder(
    (events) => events.filter((event) => !/delta$|(text|refusal)\.done/.test(typeOf(event))),
    noOutput,
  ),
  'only deltas': inOrder(
    (events) =>
      events.filter((event) => !/_(text|part|arguments|input)\.done|refusal\.done/.test(typeOf(event))),
    silentItems,
    noOutput,
  ),
  'no first event': (events) => events.filter((event) => !/created|in_progress|queued/.test(typeOf(event))),
  'no announcements': (events) => events.filter((event) => !/added$/.test(typeOf(event))),
  'announcements without names and ids': noAnnouncement,
  'no item is done': inOrder((events) => events.filter((event) => !/item\.done$/.test(typeOf(event)))),
  'no indexes': each((event) => without(event, 'output_index', 'content_index', 'summary_index')),
  'no ids': each((event) => ({
    ...without(event, 'item_id'),
    ...(isObject(event.item) && { item: without(event.item, 'id') }),
  })),
  'neither indexes nor ids': each((event) => ({
    ...without(event, 'item_id', 'output_index', 'content_index', 'summary_index'),
    ...(isObject(event.item) && { item: without(event.item, 'id') }),
  })),
  'other ids in the last event': each((event) =>
    isObject(event.response)
      ? {
          ...event,
          response: {
            ...event.response,
            output: (Array.isArray(event.response.output) ? event.response.output : []).map(
              (item: unknown) => ({
                ...objectOf(item),
                id: 'another',
              }),
            ),
          },
        }
      : event,
  ),
};

const VARIATIONS: Readonly<Record<string, Readonly<Record<string, Leave>>>> = { responses: RESPONSES };

const COMPLETE = new Set(recordedStreamNames());

const cases = streamFixtures()
  .filter(({ name }) => COMPLETE.has(name) && !name.includes('error'))
  .flatMap(({ name, upstream, bytes }) => {
    const events: Events = dataOf(bytes).flatMap((data) => (data === '[DONE]' ? [] : [JSON.parse(data)]));
    const variations = Object.entries(VARIATIONS[upstream] ?? {});
    return variations.map(([variation, leave]) => ({ name, variation, upstream, events, leave }));
  });

test.for(cases)('$name with $variation is the same answer', ({ upstream, events, leave }) => {
  for (const caller of CALLERS)
    expect(answer(caller, upstream, leave(events))).toEqual(answer(caller, upstream, events));
});

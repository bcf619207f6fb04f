import { recordedStreamNames } from '@gateway/simulator/recorded-stream';
import type { ConversationProtocol } from '@gateway/upstream/protocol';
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
function answer(caller: TextProtocol, upstream: ConversationProtocol, events: Events): unknown {
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
  'arguments only in the last event': inOrder(
    (events) => events.filter((event) => !/_(arguments|input)\.(delta|done)/.test(typeOf(event))),
    each((event) =>
      /call$/.test(String(objectOf(event.item).type)) ? { ...event, item: silent(event.item) } : event,
    ),
  ),
  'an earlier status in the last event': each((event) =>
    /^response\.(completed|incomplete)$/.test(typeOf(event))
      ? { ...event, response: { ...objectOf(event.response), status: 'in_progress' } }
      : event,
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

/** Whole blocks of a Messages stream, put together from their deltas. */
const wholeBlocks: Leave = (events) =>
  events.flatMap((event) => {
    if (event.type === 'content_block_delta') return [];
    if (event.type !== 'content_block_start') return [event];
    const deltas = events.flatMap((one) =>
      one.type === 'content_block_delta' && one.index === event.index ? [objectOf(one.delta)] : [],
    );
    const joined = (name: string) => deltas.map((delta) => delta[name] ?? '').join('');
    const json = joined('partial_json');
    const citations = deltas.flatMap(({ citation }) => citation ?? []);
    const words = Object.fromEntries(
      ['text', 'thinking', 'signature'].flatMap((name) =>
        joined(name) === '' ? [] : [[name, joined(name)]],
      ),
    );
    const block = {
      ...objectOf(event.content_block),
      ...words,
      ...(json !== '' && { input: JSON.parse(json) }),
    };
    const cited = citations.map((citation) => ({
      type: 'content_block_delta',
      index: event.index,
      delta: { type: 'citations_delta', citation },
    }));
    return [{ ...event, content_block: block }, ...cited];
  });

/** Every block begins before the first one goes on, and their deltas come in turn. */
const overlapping: Leave = (events) => {
  const of = (type: string) => events.filter((event) => event.type === type);
  const deltas = of('content_block_delta');
  const round = (event: JsonObject) => deltas.filter(({ index }) => index === event.index).indexOf(event);
  return [
    ...of('message_start'),
    ...of('content_block_start'),
    ...deltas.toSorted((one, other) => round(one) - round(other)),
    ...of('content_block_stop').toReversed(),
    ...of('message_delta'),
    ...of('message_stop'),
  ];
};

const MESSAGES: Readonly<Record<string, Leave>> = {
  'whole blocks at their start': wholeBlocks,
  'blocks that overlap': overlapping,
  'no ends of blocks': (events) => events.filter(({ type }) => type !== 'content_block_stop'),
  'no indexes': each((event) => without(event, 'index')),
  'no beginnings of texts and thoughts': (events) =>
    events.filter(({ content_block: block }) => !/^(text|thinking)$/.test(String(objectOf(block).type))),
};

const VARIATIONS: Readonly<Record<string, Readonly<Record<string, Leave>>>> = {
  responses: RESPONSES,
  messages: MESSAGES,
};

const COMPLETE = new Set(recordedStreamNames());

const cases = streamFixtures()
  .filter(({ name }) => COMPLETE.has(name) && !name.includes('error'))
  .flatMap(({ name, upstream, bytes }) => {
    if (upstream === 'converse') return [];
    const events: Events = dataOf(bytes).flatMap((data) => (data === '[DONE]' ? [] : [JSON.parse(data)]));
    // The result of a search cannot come before its query.
    const isOrdered = name.includes('web-search');
    const variations = Object.entries(VARIATIONS[upstream] ?? {}).filter(
      ([, leave]) => leave !== overlapping || !isOrdered,
    );
    return variations.map(([variation, leave]) => ({ name, variation, upstream, events, leave }));
  });

test.for(cases)('$name with $variation is the same answer', ({ upstream, events, leave }) => {
  for (const caller of CALLERS)
    expect(answer(caller, upstream, leave(events))).toEqual(answer(caller, upstream, events));
});

import { expect, test } from 'vitest';
import { createEventReader, positionIn } from './emitted-events.ts';

/** What a job has emitted: several events in a text, one event in several texts, and what is no event. */
const TEXTS = [
  ['1-0', '{"channel":"one"}'],
  ['2-0', 'data: a\n\ndata: b\n\n'],
  ['3-0', 'event: x\r\ndata: c\r\n\r\ndata: d'],
  ['4-0', 'dd'],
  ['5-0', 'd\n\ndata: e\n\n'],
] as const;

const WHOLE = [
  { id: '2-0.1', frame: 'data: a' },
  { id: '2-0.2', frame: 'data: b' },
  { id: '3-0.1', frame: 'event: x\r\ndata: c' },
  { id: '5-0.1', frame: 'data: dddd' },
  { id: '5-0.2', frame: 'data: e' },
];

/** As Redis answers: from an id on, or after it. */
const textsFrom = async (from: string) =>
  TEXTS.filter(([id]) => from === '-' || (from.startsWith('(') ? id > from.slice(1) : id >= from)).map(
    ([id, text]) => ({ id, text }),
  );

const read = async (lastEventId: string) => {
  const events: unknown[] = [];
  for await (const event of createEventReader(textsFrom, positionIn(lastEventId)).read()) events.push(event);
  return events;
};

test('events are read from texts, however they are cut', async () => {
  expect(await read('')).toEqual(WHOLE);
});

test.for(WHOLE.map(({ id }, at) => [id, at] as const))(
  'after event %s come those that follow it',
  async ([id, at]) => {
    expect(await read(id)).toEqual(WHOLE.slice(at + 1));
  },
);

test('an id that is none begins at the beginning', async () => {
  for (const id of ['x', '0-0.0', '7', '-1.1', '__proto__']) expect(await read(id)).toEqual(WHOLE);
});

import { namedFrame } from '@gateway/contracts/event-stream/sse-frames';
import { expect, test, vi } from 'vitest';
import type { LoggedEvent } from '../../background/background-responses.ts';
import { RecordingCaller } from './recording-caller.ts';

const accepted = { id: 'resp_1', background: true, status: 'queued' };
const event = (type: string, more: object = {}) => namedFrame({ type, sequence_number: 0, ...more });

/** A caller, and what is stored of its events: each time when `storing` resolves. */
function open(storing: () => Promise<boolean> = async () => true) {
  const stored: (readonly LoggedEvent[])[] = [];
  const append = (_: string, events: readonly LoggedEvent[]) => {
    stored.push(events);
    return storing();
  };
  const caller = new RecordingCaller({ id: 'resp_1', headers: {}, accepted, log: { append } });
  return { caller, stored };
}

test('events are stored under the id that was promised; the last one is given with its response instead', async () => {
  const { caller, stored } = open();
  caller.note('x-gateway-dropped', 'user');
  caller.begin(200, { 'x-gateway-channel': 'one', 'content-type': 'text/event-stream' });
  const created = event('response.created', { response: { id: 'theirs' } });
  caller.send([': keepalive\n\n', created, event('response.in_progress', { response: { id: 'theirs' } })]);
  caller.end([event('response.completed', { response: { id: 'theirs', output: [] } }), 'data: [DONE]\n\n']);
  expect(await caller.recorded()).toMatchObject({
    status: 'completed',
    response: { id: 'resp_1', background: true, output: [] },
  });
  expect(stored).toEqual([
    [{ type: 'response.in_progress', rest: { response: { id: 'resp_1', background: true } } }],
  ]);
  expect(caller.shownHeaders).toEqual({ 'x-gateway-channel': 'one', 'x-gateway-dropped': 'user' });
});

test('nothing is taken faster than it is stored', async () => {
  const first = Promise.withResolvers<boolean>();
  const { caller, stored } = open(() => first.promise);
  const onTaken = vi.fn();
  caller.onTaken(onTaken);
  expect(caller.send([event('response.in_progress'), event('response.output_text.delta')])).toBe(false);
  await expect.poll(() => stored).toHaveLength(1);
  expect([caller.isFull, onTaken.mock.calls.length]).toEqual([true, 0]);
  first.resolve(true);
  await expect.poll(() => onTaken.mock.calls.length).toBe(1);
  expect(caller.isFull).toBe(false);
});

test('leaving ends the answer before its end, as a caller who leaves does', async () => {
  const { caller } = open();
  const onClosed = vi.fn();
  caller.onClosed(onClosed);
  caller.send([event('response.in_progress')]);
  caller.leave();
  expect([caller.isGone, caller.hasEnded, onClosed.mock.calls.length]).toEqual([true, false, 1]);
  caller.end([event('response.completed', { response: {} })]);
  expect(await caller.recorded()).toBeNull();
});

test.for([
  { what: 'another process has ended the response', isFull: false },
  { what: 'its events cannot be stored', isFull: true },
])('where $what, nobody takes what is generated from then on', async ({ isFull }) => {
  const { caller } = open(() => (isFull ? Promise.reject(new Error('full')) : Promise.resolve(false)));
  caller.send([event('response.in_progress')]);
  const recorded = await caller.recorded().catch(({ message }: Error) => message);
  expect(recorded).toBe(isFull ? 'full' : null);
  await expect.poll(() => caller.isGone).toBe(true);
});

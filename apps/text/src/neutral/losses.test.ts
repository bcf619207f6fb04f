import { expect, test } from 'vitest';
import { droppedHeader, Losses, refuseLosses } from './losses.ts';

test('each loss is listed once, by its path in the request', () => {
  const losses = new Losses();
  losses.drop(['top_k'], 'unknown');
  losses.drop(['tools', 2, 'cache_control'], 'unknown');
  losses.drop(['top_k'], 'again');
  expect(droppedHeader(losses.dropped)).toBe('top_k,tools[2].cache_control');
  expect(droppedHeader([])).toBeNull();
});

test('a header of losses is bounded, and a name of the caller’s cannot break it', () => {
  const losses = new Losses();
  losses.drop(['evil\r\nset-cookie: a=b,c'], 'unknown');
  for (let index = 0; index < 100; index++) losses.drop(['messages', index], 'unknown');
  const header = droppedHeader(losses.dropped) ?? '';
  expect(header).toMatch(/^evil\?\?set-cookie\?\?a\?b\?c,messages\[0\],/);
  expect(header.endsWith(',+61')).toBe(true);
});

test('long names do not make the header long', () => {
  const losses = new Losses();
  const deep = Array.from({ length: 8 }, () => 'x'.repeat(64));
  for (let index = 0; index < 40; index++) losses.drop(['messages', index, ...deep], 'unknown');
  const header = droppedHeader(losses.dropped) ?? '';
  expect(header.length).toBeLessThan(2020);
  expect(header).toMatch(/^messages\[0\]\.x+.*,\+37$/);
});

test('a strict caller gets a long name of its own back in part', () => {
  const losses = new Losses();
  losses.drop(['messages', 0, 'x'.repeat(100_000)], 'unknown');
  expect(() => refuseLosses(losses.dropped)).toThrow(
    expect.objectContaining({
      message: expect.stringMatching(/^.{1,400}$/),
      options: expect.objectContaining({ path: ['messages', 0, 'x'.repeat(64)] }),
    }),
  );
});

test('a strict caller gets an error that names the losses', () => {
  const losses = new Losses();
  refuseLosses(losses.dropped);
  losses.drop(['top_k'], 'not known to the chat protocol');
  expect(() => refuseLosses(losses.dropped)).toThrow(
    expect.objectContaining({ code: 'unsupported_parameter', message: expect.stringContaining('top_k') }),
  );
});

import { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { createAddressOf } from './client-address.ts';

const socket = Object.defineProperty(new Socket(), 'remoteAddress', { value: '10.0.0.1' });
const seenAs = (forwarded: string | undefined, trustProxy: boolean) =>
  createAddressOf(trustProxy)({
    socket,
    headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
  });

test.for([
  [undefined, '10.0.0.1'],
  ['203.0.113.9', '203.0.113.9'],
  ['198.51.100.1, 203.0.113.9', '203.0.113.9'],
  ['203.0.113.9:51234', '203.0.113.9'],
  ['2001:db8::1', '2001:db8::1'],
  ['[2001:db8::1]:51234', '2001:db8::1'],
  ['198.51.100.1, unknown', '10.0.0.1'],
  ['203.0.113.9\u001b[2J', '10.0.0.1'],
  ['', '10.0.0.1'],
])('x-forwarded-for %j: a trusted proxy saw %s, and without one it says nothing', ([forwarded, address]) => {
  expect(seenAs(forwarded, true)).toBe(address);
  expect(seenAs(forwarded, false)).toBe('10.0.0.1');
});

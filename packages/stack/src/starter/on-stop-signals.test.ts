import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import { onStopSignals } from './on-stop-signals.ts';

test.for([
  ['one signal stops', [['SIGTERM', 0]], ['stop']],
  [
    'two within a second are one',
    [
      ['SIGINT', 0],
      ['SIGINT', 900],
    ],
    ['stop'],
  ],
  [
    'a later one ends everything',
    [
      ['SIGINT', 0],
      ['SIGTERM', 1500],
    ],
    ['stop', 'end'],
  ],
  ['the terminal being closed stops', [['SIGHUP', 0]], ['stop']],
] as const)('%s', ([, signals, expected]) => {
  const source = new EventEmitter();
  const actions: string[] = [];
  let atMs = 0;
  onStopSignals(source, {
    stop: () => actions.push('stop'),
    end: () => actions.push('end'),
    nowMs: () => atMs,
  });
  for (const [signal, time] of signals) {
    atMs = time;
    source.emit(signal);
  }
  expect(actions).toEqual(expected);
});

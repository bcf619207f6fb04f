import { expect, test } from 'vitest';
import { plainFileName } from './plain-file-name.ts';

test.for([
  ['recording.webm;codecs=opus', 'recording.webm'],
  ['a.wav?x=1', 'a.wav'],
  ['https://files.example.com/talks/a.wav?x=1#t=2', 'a.wav'],
  ['C:\\Users\\me\\a.wav', 'a.wav'],
  ['../../etc/a.wav', 'a.wav'],
  ['"a.wav"', 'a.wav'],
  ['Interview – é.mp3', 'Interview – é.mp3'],
  ['=?UTF-8?B?w5xiZXIgdW5zLm1wMw==?=', 'Über uns.mp3'],
  ['=?utf-8?q?=C3=9Cber_uns.mp3?=', 'Über uns.mp3'],
  ['=?iso-8859-1?Q?=DCber?= =?utf-8?Q?_uns.mp3?=', 'Über uns.mp3'],
  ['=?klingon?B?w5xi?=', '=?klingon?B?w5xi?='],
  ['a.wav?of=/tmp/b', 'a.wav'],
  ['take #2; loud.wav', 'take #2; loud.wav'],
  ['a\0b\u0085.wav', 'ab.wav'],
  ['gpj\u202evaw.wav', 'gpjvaw.wav'],
  ['a\u2028b.wav', 'ab.wav'],
  ['/tmp/', ''],
  ['blob', 'blob'],
  ['', ''],
])('the name %s is %s', ([name, plain]) => {
  expect(plainFileName(name ?? '')).toBe(plain);
});

import { expect, test } from 'vitest';
import { dialectOfPacket, failureText, type ParserError, parserFailure } from './parser-failure.ts';

const error = (code: string): ParserError => Object.assign(new Error('refused'), { code });

test.for([
  ['POST /v1/messages HTTP/1.1\r\nHost: x', 'anthropic'],
  ['POST /v1/messages?beta=true HTTP/1.1\r\n', 'anthropic'],
  ['POST /v1/responses HTTP/1.1\r\n', 'openai'],
  ['xxxxxxxxxx', 'openai'],
] as const)('a packet that begins with %j is answered in the %s dialect', ([packet, dialect]) => {
  expect(dialectOfPacket(Buffer.from(packet))).toBe(dialect);
});

test('without a packet the dialect is the default one', () => {
  expect(dialectOfPacket(undefined)).toBe('openai');
});

test("a parser's refusal becomes a whole response in the dialect", () => {
  const text = failureText(parserFailure(error('HPE_HEADER_OVERFLOW')), 'anthropic', 'req_1');
  const [head = '', body = ''] = text.split('\r\n\r\n');
  expect(head.split('\r\n')).toEqual(
    expect.arrayContaining([
      'HTTP/1.1 431 Request Header Fields Too Large',
      'request-id: req_1',
      'connection: close',
      `content-length: ${Buffer.byteLength(body)}`,
    ]),
  );
  expect(JSON.parse(body)).toMatchObject({ type: 'error', error: { type: 'invalid_request_error' } });
  expect(parserFailure(error('ERR_HTTP_REQUEST_TIMEOUT')).code).toBe('request_timeout');
  expect(parserFailure(error('HPE_INVALID_METHOD')).code).toBe('malformed_request');
});

import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import { join } from 'node:path';
import { freePort } from '@gateway/testkit/free-port';
import { type TemporaryFolder, temporaryFolder } from '@gateway/testkit/temporary-folder';
import express from 'express';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { mountInstanceProof } from '../api/instance-proof.ts';
import { findAdmin } from './find-admin.ts';

const KEY = 'an instance key that has more than 32 characters';

let folder: TemporaryFolder;
beforeEach(async () => {
  folder = await temporaryFolder();
  await mkdir(join(folder.path, 'secrets'));
  await writeFile(join(folder.path, 'secrets', 'admin-token'), 'the-token-of-this-folder\n');
});
afterEach(() => folder.close());

const record = (content: string) => writeFile(join(folder.path, 'admin.json'), content);
const find = (env: Record<string, string> = {}) =>
  findAdmin({ GATEWAY_DATA_DIR: folder.path, ...env }, fetch);

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
}

/** The part of an instance's admin service that answers the proof. */
function instance(instanceKey: string | undefined): Promise<string> {
  const app = express();
  mountInstanceProof(app, instanceKey);
  return serve(app);
}

test('the instance that the data folder names is found at its address, for any ADMIN_PORT', async () => {
  const url = await instance(KEY);
  await record(JSON.stringify({ url, instanceKey: KEY }));
  expect(await find({ ADMIN_PORT: '8090' })).toMatchObject({ url, token: 'the-token-of-this-folder' });
});

test.for([
  ['another instance', (): Promise<string> => instance('the key of another one, of 32 characters')],
  ['an instance without a key', (): Promise<string> => instance(undefined)],
  ['a program that answers yes', () => serve((_request, response) => response.end('{"proof":"yes"}'))],
  [
    'a program that redirects',
    () => serve((_request, response) => response.writeHead(302, { location: '/' }).end()),
  ],
] as const)('%s does not get the token', async ([, start]) => {
  const url = await start();
  await record(JSON.stringify({ url, instanceKey: KEY }));
  await expect(find()).rejects.toThrow(
    `The server at ${url} is not the gateway with the data folder ${folder.path}, so the token was not sent.`,
  );
});

test('an instance that does not answer is an error with the next step', async () => {
  const url = `http://127.0.0.1:${await freePort()}`;
  await record(JSON.stringify({ url, instanceKey: KEY }));
  await expect(find()).rejects.toThrow(
    `The gateway with the data folder ${folder.path} is not responding: its admin service was at ${url}. Start the gateway with npm start, or set ADMIN_URL.`,
  );
});

test('a token from a data folder whose gateway does not run is sent to no service', async () => {
  await expect(find({ ADMIN_PORT: '8090' })).rejects.toThrow(
    `No gateway is running with the data folder ${folder.path}.`,
  );
  await record('{"url":');
  await expect(find()).rejects.toThrow('admin.json cannot be read');
});

test('a named service and token are used', async () => {
  const token = 'a-token-from-outside';
  expect(await find({ ADMIN_URL: 'http://10.0.0.5:8090' })).toMatchObject({ url: 'http://10.0.0.5:8090' });
  expect(await find({ GATEWAY_ADMIN_TOKEN: token })).toEqual({
    url: 'http://127.0.0.1:8090',
    token,
    tokenSource: 'GATEWAY_ADMIN_TOKEN',
  });
  expect(await find({ GATEWAY_ADMIN_TOKEN: token, ADMIN_PORT: '9000' })).toMatchObject({
    url: 'http://127.0.0.1:9000',
  });
});

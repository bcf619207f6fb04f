import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Environment } from '@gateway/contracts/environment';
import { jsonIn } from '@gateway/contracts/json/json-object';
import { z } from 'zod';
import { challengeUrl, isProof } from '../api/instance-proof.ts';
import { CommandError } from './admin-client.ts';

/** The record that `npm start` keeps in its data folder while it runs. */
const AdminRecord = z.object({ url: z.url({ protocol: /^https?$/ }), instanceKey: z.string().min(1) });
type AdminRecord = z.infer<typeof AdminRecord>;
const Proof = z.object({ proof: z.string() });

const DEFAULT_PORT = 8090;
const TIMEOUT_MS = 5_000;
const OTHERWISE = 'Start the gateway with npm start, or set ADMIN_URL.';

/**
 * The address of the admin service, and its token: `ADMIN_URL`, else the record of the data folder's gateway, else, with a
 * token from the environment, the usual port. A data folder's token is sent to that folder's own gateway only.
 *
 * @throws {CommandError} if there is no token, or no service that may get it
 */
export async function findAdmin(
  env: Environment,
  fetch: typeof globalThis.fetch,
): Promise<{ url: string; token: string; tokenSource: string }> {
  const folder = env.GATEWAY_DATA_DIR || '.data';
  const found = await findToken(env, folder);
  if (env.ADMIN_URL) return { url: env.ADMIN_URL, ...found };
  const record = await readRecord(join(folder, 'admin.json'));
  if (record !== null) {
    await checkInstance(record, folder, fetch);
    return { url: record.url, ...found };
  }
  if (env.GATEWAY_ADMIN_TOKEN) return { url: `http://127.0.0.1:${env.ADMIN_PORT || DEFAULT_PORT}`, ...found };
  throw new CommandError(`No gateway is running with the data folder ${folder}. ${OTHERWISE}`);
}

async function findToken(env: Environment, folder: string): Promise<{ token: string; tokenSource: string }> {
  if (env.GATEWAY_ADMIN_TOKEN) return { token: env.GATEWAY_ADMIN_TOKEN, tokenSource: 'GATEWAY_ADMIN_TOKEN' };
  const file = join(folder, 'secrets', 'admin-token');
  const token = (await readFile(file, 'utf8').catch(() => '')).trim();
  if (token !== '') return { token, tokenSource: file };
  throw new CommandError(
    `There is no admin token: GATEWAY_ADMIN_TOKEN is not set and ${file} cannot be read. Start the gateway with npm start, which creates one, or set the variable.`,
  );
}

async function readRecord(file: string): Promise<AdminRecord | null> {
  const text = await readFile(file, 'utf8').catch(() => null);
  if (text === null) return null;
  const record = AdminRecord.safeParse(jsonIn(text)).data;
  if (record === undefined) throw new CommandError(`${file} cannot be read. ${OTHERWISE}`);
  return record;
}

/** @throws {CommandError} unless the recorded service answers there */
async function checkInstance(
  { url, instanceKey }: AdminRecord,
  folder: string,
  fetch: typeof globalThis.fetch,
): Promise<void> {
  const challenge = randomBytes(32).toString('base64url');
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const response = await fetch(challengeUrl(url, challenge), { redirect: 'manual', signal }).catch(
    () => null,
  );
  if (response === null)
    throw new CommandError(
      `The gateway with the data folder ${folder} is not responding: its admin service was at ${url}. ${OTHERWISE}`,
    );
  const { data } = Proof.safeParse(jsonIn(await response.text().catch(() => '')));
  if (data === undefined || !isProof(data.proof, instanceKey, challenge))
    throw new CommandError(
      `The server at ${url} is not the gateway with the data folder ${folder}, so the token was not sent. ${OTHERWISE}`,
    );
}

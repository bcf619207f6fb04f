import { readFileSync } from 'node:fs';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { errorMessage } from '@gateway/contracts/error-message';
import { type RedisLogin, type RedisPlace, type RedisTls, RedisUrlError } from './redis-url.ts';

/** What a connection shows to whom it connects. Files are read at each call, since they are replaced while processes run. */
export interface RedisSecrets {
  readonly password: () => string | undefined;
  readonly sentinelPassword: () => string | undefined;
  /** Null: not over TLS. */
  readonly tls: () => TlsFiles | null;
  readonly sentinelTls: () => TlsFiles | null;
}

/** Options of a connection over TLS. */
export type TlsFiles = Pick<SecureContextOptions, 'ca' | 'cert' | 'key'> & { readonly servername?: string };

/**
 * Reads all of it once.
 *
 * @throws {RedisUrlError} for a file that cannot be read, or does not hold what it should
 */
export function openRedisSecrets(place: RedisPlace): RedisSecrets {
  const secrets: RedisSecrets = {
    password: passwordOf(place.login, 'REDIS_PASSWORD_FILE'),
    sentinelPassword: passwordOf(place.sentinelLogin, 'REDIS_SENTINEL_PASSWORD_FILE'),
    tls: tlsOf(place.tls),
    sentinelTls: tlsOf(place.sentinelTls),
  };
  secrets.password();
  secrets.sentinelPassword();
  checkTls(secrets.tls() ?? secrets.sentinelTls(), place.tls ?? place.sentinelTls);
  return secrets;
}

/** The problem of a `REDIS_URL`, as the end of a sentence; undefined for one that can be used. */
export function problemOf(action: () => unknown): string | undefined {
  try {
    action();
    return undefined;
  } catch (error) {
    if (error instanceof RedisUrlError) return error.message;
    throw error;
  }
}

function passwordOf({ password, passwordFile }: RedisLogin, variable: string): () => string | undefined {
  if (passwordFile === undefined) return () => password;
  return reread(passwordFile, variable, (text) => {
    // Editors and `echo` end a file with a line end, which belongs to no password.
    const line = text.replace(/[\r\n]+$/, '');
    if (line === '') throw new RedisUrlError(`names an empty file in ${variable} (${passwordFile})`);
    return line;
  });
}

function tlsOf(files: RedisTls | null): () => TlsFiles | null {
  if (files === null) return () => null;
  const pem = (path: string | undefined, variable: string) =>
    path === undefined ? undefined : reread(path, variable, (text) => text);
  const readers = {
    ca: pem(files.caFile, 'REDIS_CA_FILE'),
    cert: pem(files.certFile, 'REDIS_CERT_FILE'),
    key: pem(files.keyFile, 'REDIS_KEY_FILE'),
  };
  const servername = files.serverName;
  return () => ({
    ...(readers.ca && { ca: readers.ca() }),
    ...(readers.cert && { cert: readers.cert() }),
    ...(readers.key && { key: readers.key() }),
    ...(servername !== undefined && { servername }),
  });
}

/** A file is away for a moment while it is replaced: the value of the last time holds then. */
function reread<Value>(path: string, variable: string, parse: (text: string) => Value): () => Value {
  let last: Value | undefined;
  return () => {
    try {
      last = parse(readFileSync(path, 'utf8'));
    } catch (error) {
      if (last === undefined)
        throw error instanceof RedisUrlError
          ? error
          : new RedisUrlError(`names a file in ${variable} that cannot be read (${errorMessage(error)})`);
    }
    return last;
  };
}

function checkTls(options: TlsFiles | null, files: RedisTls | null): void {
  if (options === null || files === null) return;
  if (options.ca !== undefined && !String(options.ca).includes('-----BEGIN CERTIFICATE-----'))
    throw new RedisUrlError(
      `names a file in REDIS_CA_FILE without a certificate in PEM form (${files.caFile})`,
    );
  try {
    createSecureContext(options);
  } catch (error) {
    const names =
      files.certFile === undefined ? 'REDIS_CA_FILE' : 'REDIS_CERT_FILE, REDIS_KEY_FILE or REDIS_CA_FILE';
    throw new RedisUrlError(`names files in ${names} that cannot be used for TLS (${errorMessage(error)})`);
  }
}

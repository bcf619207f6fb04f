/** What is wrong with a URL, or a file that it names, as the end of a sentence that begins with the variable's name. Without secrets. */
export class RedisUrlError extends Error {
  override readonly name = 'RedisUrlError';
}

export interface RedisAddress {
  readonly host: string;
  readonly port: number;
}

/** Who logs in. A password file is read again for each connection. */
export interface RedisLogin {
  readonly username?: string;
  readonly password?: string;
  readonly passwordFile?: string;
}

/** The files of TLS, and the name that certificates must have where it is not the host's. */
export interface RedisTls {
  readonly caFile?: string;
  readonly certFile?: string;
  readonly keyFile?: string;
  readonly serverName?: string;
}

/** The Redis that a URL names. */
export interface RedisPlace {
  /** Of the Redis itself, or of its sentinels. */
  readonly addresses: readonly RedisAddress[];
  /** The sentinels' name of the master; null where the address is the Redis itself. */
  readonly masterName: string | null;
  readonly db: number;
  readonly login: RedisLogin;
  readonly sentinelLogin: RedisLogin;
  /** Null: not over TLS. */
  readonly tls: RedisTls | null;
  readonly sentinelTls: RedisTls | null;
  readonly family: 0 | 4 | 6;
}

/** Each is a parameter of the URL, so that one text says all; the variable is another way to write it. */
const FILE_VARIABLES = {
  REDIS_CA_FILE: 'caFile',
  REDIS_CERT_FILE: 'certFile',
  REDIS_KEY_FILE: 'keyFile',
  REDIS_PASSWORD_FILE: 'passwordFile',
  REDIS_SENTINEL_PASSWORD_FILE: 'sentinelPasswordFile',
} as const;
type FileVariable = keyof typeof FILE_VARIABLES;
const fileVariables = Object.keys(FILE_VARIABLES) as FileVariable[];

const PARAMETERS: readonly string[] = [
  ...Object.values(FILE_VARIABLES),
  'serverName',
  'family',
  'sentinelUser',
  'sentinelPassword',
  'sentinelTls',
];

type Environment = Readonly<Record<string, string | undefined>>;

/** An environment without the variables that stand beside `REDIS_URL`, for processes whose URL says it all. */
export const NO_REDIS_FILES: Readonly<Record<FileVariable, string>> = {
  REDIS_CA_FILE: '',
  REDIS_CERT_FILE: '',
  REDIS_KEY_FILE: '',
  REDIS_PASSWORD_FILE: '',
  REDIS_SENTINEL_PASSWORD_FILE: '',
};

/** What stands for a `REDIS_URL` that is not set: Compose's own Redis, whose URL has to be written whole in a file. */
export const DEFAULT_URL_VARIABLE = 'REDIS_DEFAULT_URL';

/** `REDIS_URL` with what stands in the variables beside it; undefined where it is not set. */
export function redisUrlOf(env: Environment): string | undefined {
  const url = env.REDIS_URL || env[DEFAULT_URL_VARIABLE];
  if (!url) return undefined;
  const given = fileVariables.flatMap((variable) => {
    const path = env[variable];
    return path ? [`${FILE_VARIABLES[variable]}=${encodeURIComponent(path)}`] : [];
  });
  if (given.length === 0) return url;
  return `${url}${url.includes('?') ? '&' : '?'}${given.join('&')}`;
}

const variableOf = (parameter: string): string =>
  fileVariables.find((variable) => FILE_VARIABLES[variable] === parameter) ?? `?${parameter}=`;

const FORM = /^(rediss?)(\+sentinel)?:\/\/([^/?]*)(\/[^?]*)?(?:\?(.*))?$/i;
const HOST = /^(?:\[([\da-f:.]+)\]|([^\s:[\]@,]+))(?::(\d{1,5}))?$/i;
const ENCODED = 'must have its password percent-encoded: "#" as %23, "/" as %2F, "?" as %3F, "%" as %25';
const EXAMPLE = 'redis+sentinel://host1:26379,host2:26379/mymaster';

/** @throws {RedisUrlError} */
export function parseRedisUrl(url: string): RedisPlace {
  if (/^rediss?\+cluster:/i.test(url))
    throw new RedisUrlError(
      'names a Redis Cluster, which is not supported: name one Redis, or its sentinels',
    );
  const [, scheme, sentinel, authority = '', path = '', query = ''] = FORM.exec(url) ?? [];
  if (scheme === undefined)
    throw new RedisUrlError(
      'must be a redis:// or rediss:// URL, or redis+sentinel:// or rediss+sentinel:// for sentinels',
    );
  // A password with one of these ends the host's part too early, and messages name hosts.
  if (url.includes('#') || (!authority.includes('@') && `${path}${query}`.includes('@')))
    throw new RedisUrlError(ENCODED);

  const at = authority.lastIndexOf('@');
  const hosts = authority.slice(at + 1).split(',');
  const hasSentinels = sentinel !== undefined;
  if (!hasSentinels && hosts.length > 1)
    throw new RedisUrlError(`names several hosts: for sentinels, write ${EXAMPLE}`);
  const parameters = parametersIn(query);
  const read = (name: string) => parameters.get(name);
  const { masterName, db } = hasSentinels
    ? masterIn(path)
    : { masterName: null, db: databaseIn(path.slice(1)) };

  const isTls = scheme.toLowerCase() === 'rediss';
  const files = {
    ...optional('caFile', read('caFile')),
    ...optional('certFile', read('certFile')),
    ...optional('keyFile', read('keyFile')),
    ...optional('serverName', read('serverName')),
  };
  const sentinelTls = read('sentinelTls') ?? String(isTls);
  if (!/^(?:true|false)$/.test(sentinelTls))
    throw new RedisUrlError('has a sentinelTls that is neither true nor false');
  const sentinelsHaveTls = hasSentinels && sentinelTls === 'true';
  const [unused] = Object.keys(files);
  if (unused !== undefined && !isTls && !sentinelsHaveTls)
    throw new RedisUrlError(
      `has ${variableOf(unused)} for TLS, but is not over TLS: write ${scheme}s${sentinel ?? ''}://, or leave ${variableOf(unused)} out`,
    );
  if ((read('certFile') === undefined) !== (read('keyFile') === undefined))
    throw new RedisUrlError('needs REDIS_CERT_FILE and REDIS_KEY_FILE together, or neither of them');
  if (!hasSentinels) {
    const [foreign] = [...parameters.keys()].filter((name) => name.startsWith('sentinel'));
    if (foreign !== undefined)
      throw new RedisUrlError(`has ${variableOf(foreign)}, but names no sentinels: write ${EXAMPLE}`);
  }
  const sentinelLogin = {
    ...optional('username', read('sentinelUser')),
    ...optional('password', read('sentinelPassword')),
    ...optional('passwordFile', read('sentinelPasswordFile')),
  };
  const login = {
    ...loginIn(authority.slice(0, Math.max(at, 0))),
    ...optional('passwordFile', read('passwordFile')),
  };
  checkLogin(login, 'passwordFile');
  checkLogin(sentinelLogin, 'sentinelPasswordFile');
  return {
    addresses: hosts.map((host) => addressIn(host, hasSentinels ? 26_379 : 6379)),
    masterName,
    db,
    login,
    sentinelLogin,
    tls: isTls ? files : null,
    sentinelTls: sentinelsHaveTls ? files : null,
    family: familyIn(read('family') ?? '0'),
  };
}

/** Hosts and ports, and the master's name behind those of sentinels; without users and passwords. */
export const shownPlace = ({ addresses, masterName }: RedisPlace): string =>
  `${addresses.map(shownAddress).join(',')}${masterName === null ? '' : `/${masterName}`}`;

export const shownAddress = ({ host, port }: RedisAddress): string =>
  `${host.includes(':') ? `[${host}]` : host}:${port}`;

const optional = <Name extends string>(name: Name, value: string | undefined) =>
  (value === undefined || value === '' ? {} : { [name]: value }) as Partial<Record<Name, string>>;

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new RedisUrlError(ENCODED);
  }
}

function parametersIn(query: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const part of query.split('&')) {
    if (part === '') continue;
    const equals = part.indexOf('=');
    const name = equals < 0 ? part : part.slice(0, equals);
    // Part of a password may stand here: it is not shown.
    if (!PARAMETERS.includes(name))
      throw new RedisUrlError(`has an unknown parameter behind "?": known are ${PARAMETERS.join(', ')}`);
    if (found.has(name))
      throw new RedisUrlError(`has ${name} twice: keep ${variableOf(name)}, or ?${name}= in the URL`);
    found.set(name, equals < 0 ? '' : decoded(part.slice(equals + 1)));
  }
  return found;
}

function loginIn(text: string): RedisLogin {
  if (text === '') return {};
  const colon = text.indexOf(':');
  const [user, password] = colon < 0 ? [text, ''] : [text.slice(0, colon), text.slice(colon + 1)];
  return { ...optional('username', decoded(user)), ...optional('password', decoded(password)) };
}

function checkLogin({ username, password, passwordFile }: RedisLogin, parameter: string): void {
  if (password !== undefined && passwordFile !== undefined)
    throw new RedisUrlError(
      `has a password, and ${variableOf(parameter)} names another one: keep one of them`,
    );
  if (username !== undefined && password === undefined && passwordFile === undefined)
    throw new RedisUrlError(
      `has a user without a password: write user:password@, or name a file in ${variableOf(parameter)}`,
    );
}

function addressIn(text: string, defaultPort: number): RedisAddress {
  const [, address, name, port] = HOST.exec(text) ?? [];
  const host = address ?? name;
  const number = port === undefined ? defaultPort : Number(port);
  // The text may be part of a password.
  if (host === undefined || number < 1 || number > 65_535)
    throw new RedisUrlError('must name a host, or a host and a port, such as redis.example.com:6379');
  return { host, port: number };
}

function databaseIn(text: string): number {
  if (!/^\d{0,5}$/.test(text)) throw new RedisUrlError('must end with the number of a database, such as /0');
  return Number(text);
}

function masterIn(path: string): { masterName: string; db: number } {
  const [, name = '', db = '', ...rest] = path.split('/');
  if (name === '' || rest.length > 0)
    throw new RedisUrlError(`must name the master as its sentinels do: ${EXAMPLE}`);
  return { masterName: decoded(name), db: databaseIn(db) };
}

function familyIn(text: string): 0 | 4 | 6 {
  if (text === '4') return 4;
  if (text === '6') return 6;
  if (text !== '0') throw new RedisUrlError('has a family that is not 4, 6 or 0');
  return 0;
}

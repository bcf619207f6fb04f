import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { GatewayError } from '@gateway/contracts/gateway-error';

/** Hashes of passwords, and their checks. */
export interface PasswordHashes {
  /** @throws {GatewayError} `service_unavailable` where too many wait */
  hash(password: string): Promise<string>;
  /**
   * Whether it is the password of this hash. For null it takes as long, and is false: so nobody learns which addresses are known.
   *
   * @throws {GatewayError} `service_unavailable` where too many wait
   */
  isOf(password: string, hash: string | null): Promise<boolean>;
}

interface Cost {
  /** The logarithm of what scrypt calls N. */
  readonly ln: number;
  readonly r: number;
  readonly p: number;
}

/**
 * 32 MiB and about a tenth of a second: one of the equally strong settings that OWASP recommends. A hash has its own, so another choice
 * here leaves older ones readable.
 *
 * @see https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html#scrypt
 */
const COST: Cost = { ln: 15, r: 8, p: 3 };
const SALT_BYTES = 16;
const HASH_BYTES = 32;
/** Each takes a thread of the few that files and names of hosts need as well. */
const MAX_RUNNING = 2;
const MAX_WAITING = 30;
const RETRY_AFTER_SECONDS = 5;

/** The form of the Password Hashing Competition. */
const FORM = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([\w+/]{22})\$([\w+/]{43})$/;
const base64 = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '');

const textOf = ({ ln, r, p }: Cost, salt: Buffer, hash: Buffer): string =>
  `$scrypt$ln=${ln},r=${r},p=${p}$${base64(salt)}$${base64(hash)}`;

/** Of no password that anybody knows. */
const NOBODYS = textOf(COST, Buffer.alloc(SALT_BYTES), Buffer.alloc(HASH_BYTES));

export function createPasswordHashes(): PasswordHashes {
  const waiting: (() => void)[] = [];
  let running = 0;

  const inTurn = async <T>(work: () => Promise<T>): Promise<T> => {
    if (running < MAX_RUNNING) running += 1;
    else {
      if (waiting.length >= MAX_WAITING) throw busy();
      await new Promise<void>((resolve) => void waiting.push(resolve));
    }
    try {
      return await work();
    } finally {
      // The next one takes this one's place.
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };

  return {
    hash: (password) =>
      inTurn(async () => {
        const salt = randomBytes(SALT_BYTES);
        return textOf(COST, salt, await derive(password, salt, COST));
      }),
    isOf: (password, stored) =>
      inTurn(async () => {
        const [, ln, r, p, salt = '', hash = ''] = FORM.exec(stored ?? NOBODYS) ?? [];
        const cost = { ln: Number(ln), r: Number(r), p: Number(p) };
        const derived = await derive(password, Buffer.from(salt, 'base64'), cost);
        return timingSafeEqual(derived, Buffer.from(hash, 'base64')) && stored !== null;
      }),
  };
}

function derive(password: string, salt: Buffer, { ln, r, p }: Cost): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const options: ScryptOptions = { N: 2 ** ln, r, p, maxmem: 2 * 128 * r * 2 ** ln };
  // The same characters can be written in two ways, depending on the keyboard.
  scrypt(password.normalize('NFKC'), salt, HASH_BYTES, options, (error, key) =>
    error === null ? resolve(key) : reject(error),
  );
  return promise;
}

const busy = (): GatewayError =>
  new GatewayError('service_unavailable', {
    message: `Too many people are signing in at this moment. Try again in ${RETRY_AFTER_SECONDS} seconds.`,
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });

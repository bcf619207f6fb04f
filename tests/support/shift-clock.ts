import { readFileSync } from 'node:fs';

// Loaded into every process of a gateway before its own code: its wall clock is off by as many milliseconds as a file says, from the
// moment in which the file says so. Timers, and clocks that nobody sets, stay as they are. The module is imported with the path of that
// file as its query.

const FILE = new URL(import.meta.url).searchParams.get('offset') ?? '';
const READ_EVERY_MS = 20;

let offsetMs = 0;
let readAt = Number.NEGATIVE_INFINITY;
function offset(): number {
  const now = performance.now();
  if (now - readAt < READ_EVERY_MS) return offsetMs;
  readAt = now;
  try {
    offsetMs = Number(readFileSync(FILE, 'utf8'));
  } catch {
    // Nobody has set the clock.
  }
  return offsetMs;
}

const RealDate = Date;
const realNow = Date.now;
const now = (): number => realNow() + offset();
globalThis.Date = new Proxy(RealDate, {
  construct: (target, given, made) => Reflect.construct(target, given.length === 0 ? [now()] : given, made),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
});

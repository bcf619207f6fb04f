const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;
const TWO_32 = 2 ** 32;

/** FNV-1a over UTF-16 units, continued from `from`. */
const hash = (text: string, from: number): number => {
  let value = from;
  for (let index = 0; index < text.length; index += 1) {
    value = Math.imul(value ^ text.charCodeAt(index), FNV_PRIME);
  }
  return value;
};

/** Spreads every bit of a hash over all of it: the finalizer of MurmurHash3. */
const mix = (hashed: number): number => {
  let value = hashed;
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
};

export const hashOf = (text: string): number => hash(text, FNV_OFFSET);

/**
 * The value of a name for a key: the name with the lowest value is the key's. Over many keys a name has its share by
 * weight, and a name that comes or goes moves only the keys that it has: the values of the others stay.
 *
 * Weighted rendezvous hashing: an exponentially distributed number with the weight as its rate.
 *
 * @param keyHash of `hashOf`
 */
export const standingOf = (keyHash: number, name: string, weight: number): number =>
  -Math.log((mix(hash(name, keyHash)) + 0.5) / TWO_32) / weight;

const FOREIGN = /[^A-Za-z0-9+/_-]+/g;
/** Four characters encode three bytes. */
const UNIT_CHARACTERS = 4;

/** The bytes of base64 that comes in parts of any length, with or without line ends, in either alphabet. */
export async function* decodeBase64(parts: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let left = '';
  for await (const part of parts) {
    const text = left + part.toString('latin1').replace(FOREIGN, '');
    const whole = text.length - (text.length % UNIT_CHARACTERS);
    left = text.slice(whole);
    if (whole > 0) yield Buffer.from(text.slice(0, whole), 'base64');
  }
  if (left !== '') yield Buffer.from(left, 'base64');
}

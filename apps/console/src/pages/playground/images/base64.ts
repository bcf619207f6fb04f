/** A file in base64. */
export function base64Of(file: Blob): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const reader = new FileReader();
  reader.addEventListener('load', () => resolve(String(reader.result).replace(/^data:[^,]*,/, '')));
  reader.addEventListener('error', () => reject(reader.error));
  reader.readAsDataURL(file);
  return promise;
}

/** @throws {DOMException} for a text that is no base64 */
export const bytesOf = (base64: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));

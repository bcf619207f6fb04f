import type { ChannelEntry } from '@gateway/upstream/configuration/file-schema';

interface Wanted {
  readonly channel: ChannelEntry;
  readonly prefix: string;
}

/** A name for each different channel: its provider's, for one at an address of its own the host's, and a number where that is taken. */
export function nameChannels(wanted: readonly Wanted[]): ReadonlyMap<string, ChannelEntry> {
  const named = new Map<string, ChannelEntry>();
  const known = new Set<string>();
  for (const { channel, prefix } of wanted) {
    const text = JSON.stringify(channel);
    if (known.has(text)) continue;
    known.add(text);
    const base = nameOf(channel, prefix);
    let name = base;
    for (let number = 2; named.has(name); number += 1) name = `${base}-${number}`;
    named.set(name, channel);
  }
  return named;
}

const MAX_CHARACTERS = 56;

function nameOf({ provider, baseUrl, region, resource }: ChannelEntry, prefix: string): string {
  const word = provider === 'openai-compatible' ? prefix : provider;
  const host = provider === 'openai-compatible' || provider === 'azure-openai' ? hostOf(baseUrl) : null;
  const place = host ?? region ?? resource ?? null;
  const isKnown = place !== null && !place.includes('$');
  const name = isKnown ? `${word}-${place}` : word;
  const safe = name.replaceAll(/[^A-Za-z0-9.-]+/g, '-').replace(/^[^A-Za-z0-9]+/, '');
  return safe.slice(0, MAX_CHARACTERS) || 'channel';
}

/** The first part of a host's name, or an address as it is. */
function hostOf(address: string | undefined): string | null {
  const host = address === undefined ? undefined : URL.parse(address)?.hostname;
  if (host === undefined) return null;
  if (/^[\d.]+$|^\[/.test(host)) return host;
  const [first = host] = host.split('.');
  return first === 'api' ? null : first;
}

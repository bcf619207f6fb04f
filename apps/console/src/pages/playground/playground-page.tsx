import { Skeleton, Stack, Tabs } from '@mantine/core';
import { useSuspenseQuery } from '@tanstack/react-query';
import { type ComponentType, useEffect } from 'react';
import { sessionQuery } from '../../api/queries.ts';
import { PageHeader } from '../../parts/page/page-header.tsx';
import { usePageSearch } from '../../parts/page/page-search.ts';
import { KeySelect } from '../traffic/key-select.tsx';
import { SpeechPanel } from './audio/speech-panel.tsx';
import { TranscriptionPanel } from './audio/transcription-panel.tsx';
import { useDesk } from './desk.ts';
import { FilledIn, useFilledIn } from './fill-in.tsx';
import { ImagesPanel } from './images/images-panel.tsx';
import { FAMILIES, type Family, type PanelProps, PlaygroundSearch } from './playground-search.ts';
import { TextPanel } from './text/text-panel.tsx';
import { VoicePanel } from './voice/voice-panel.tsx';

interface Shown {
  readonly label: string;
  readonly Panel: ComponentType<PanelProps>;
}

const PANELS: Readonly<Record<Family, Shown>> = {
  text: { label: 'Text', Panel: TextPanel },
  images: { label: 'Images', Panel: ImagesPanel },
  speech: { label: 'Speech', Panel: SpeechPanel },
  transcription: { label: 'Transcription', Panel: TranscriptionPanel },
  voice: { label: 'Voice', Panel: VoicePanel },
};

/** Real requests with a key of the gateway, and everything that came of them. */
export default function PlaygroundPage() {
  const { search, change } = useView();
  const { data: session } = useSuspenseQuery(sessionQuery);
  const { family = 'text' } = search;
  // The holder of a key has no other.
  const keyId = session.keyId ?? search.key;
  const { Panel } = PANELS[family];
  const filled = useFilledIn(search.from);
  return (
    <Stack gap={0}>
      <PageHeader
        title="Playground"
        about="Real requests with one of the keys: what callers send, what they receive, and what it costs."
      />
      <Tabs
        value={family}
        keepMounted={false}
        // Each family has its own models and formats.
        onChange={(chosen) =>
          change({
            family: FAMILIES.find((one) => one === chosen),
            models: undefined,
            format: undefined,
          })
        }
      >
        <Tabs.List mb="md" aria-label="Kind of request">
          {FAMILIES.map((one) => (
            <Tabs.Tab key={one} value={one} px="xs">
              {PANELS[one].label}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value={family}>
          {session.keyId === null && (
            <KeySelect
              mb="md"
              maw={560}
              label="Key"
              description="Its limits, budget and models apply here too"
              placeholder="Search by name"
              state="active"
              clearable
              chosenId={keyId}
              onChoose={(id) => change({ key: id })}
            />
          )}
          {filled.isPending ? (
            <Skeleton h={240} animate={false} />
          ) : (
            <>
              {filled.data && <FilledIn of={filled.data} onClose={() => change({ from: undefined })} />}
              <Panel key={search.from} keyId={keyId} search={search} change={change} />
            </>
          )}
        </Tabs.Panel>
      </Tabs>
    </Stack>
  );
}

/** What the address says; an address that says nothing continues with what was there before. */
function useView(): Pick<ReturnType<typeof usePageSearch<typeof PlaygroundSearch>>, 'search' | 'change'> {
  const { search, change } = usePageSearch(PlaygroundSearch);
  const { view } = useDesk();
  useEffect(() => {
    // What it began with is filled in once.
    if (Object.values(search).some((value) => value !== undefined))
      view.search = { ...search, from: undefined };
    else if (Object.keys(view.search).length > 0) change(view.search);
  }, [search, change, view]);
  return { search, change };
}

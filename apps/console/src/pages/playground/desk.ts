import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { forgetSpeech, type SpeechAnswer } from './audio/make-speech.ts';
import type { TranscriptionAnswer } from './audio/transcribe.ts';
import { createRuns, type Runs } from './exchange/runs.ts';
import { forgetImages, type ImagesAnswer } from './images/make-images.ts';
import type { PlaygroundSearch } from './playground-search.ts';
import { type Conversations, createConversations } from './text/conversation.ts';
import { createVoiceSession, type VoiceSession } from './voice/voice-session.ts';

export type DraftName =
  | 'system'
  | 'tools'
  | 'schema'
  | 'message'
  | 'image-prompt'
  | 'speech'
  | 'instructions'
  | 'voice-instructions'
  | 'voice-message';

/** What a person has written and what was answered: it stays while other pages are open, until the person signs out. */
export interface Desk {
  /** What the address said last. */
  readonly view: { search: PlaygroundSearch };
  readonly drafts: Map<DraftName, string>;
  readonly conversations: Conversations;
  readonly images: Runs<ImagesAnswer>;
  readonly speech: Runs<SpeechAnswer>;
  readonly transcriptions: Runs<TranscriptionAnswer>;
  readonly voice: VoiceSession;
}

const createDesk = (): Desk => ({
  view: { search: {} },
  drafts: new Map(),
  conversations: createConversations(),
  images: createRuns({ forget: forgetImages }),
  speech: createRuns({ forget: forgetSpeech }),
  transcriptions: createRuns({}),
  voice: createVoiceSession(),
});

/** It is in the cache of queries because that is emptied at the sign-out. */
export function useDesk(): Desk {
  return useQuery({
    queryKey: ['playground'],
    queryFn: createDesk,
    initialData: createDesk,
    staleTime: 'static',
    gcTime: Number.POSITIVE_INFINITY,
    structuralSharing: false,
  }).data;
}

/** A text that the person writes. */
export interface Draft {
  readonly text: string;
  change(text: string): void;
}

export function useDraft(name: DraftName): Draft {
  const { drafts } = useDesk();
  const [text, setText] = useState(drafts.get(name) ?? '');
  const change = (changed: string): void => {
    drafts.set(name, changed);
    setText(changed);
  };
  return { text, change };
}

import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import { HighlightStyle, indentUnit, syntaxHighlighting } from '@codemirror/language';
import { type Diagnostic, lintGutter, lintKeymap, setDiagnostics } from '@codemirror/lint';
import { EditorState } from '@codemirror/state';
import { EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { useMantineStyleNonce } from '@mantine/core';
import { type Ref, useEffect, useImperativeHandle, useRef } from 'react';
import type { Mistake } from '../../api/types.ts';
import { mistakeText } from './mistake-list.tsx';

export interface YamlEditorHandle {
  /** Puts the cursor there and scrolls to it. Both count from 1. */
  goTo(line: number, column: number): void;
}

interface YamlEditorProps {
  /** What the text is, for those who cannot see it. */
  readonly label: string;
  readonly text: string;
  /** Absent: the text can be read and copied only. */
  readonly onChange?: (text: string) => void;
  readonly mistakes?: readonly Mistake[];
  readonly ref?: Ref<YamlEditorHandle>;
}

const NONE: readonly Mistake[] = [];

/** A text of YAML with line numbers, in colours, its mistakes underlined. Tab leaves it, as it leaves every field. */
export function YamlEditor({ label, text, onChange, mistakes = NONE, ref }: YamlEditorProps) {
  const parent = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const changed = useRef(onChange);
  changed.current = onChange;
  const getNonce = useMantineStyleNonce();
  const nonce = getNonce?.() ?? '';
  const isReadOnly = onChange === undefined;

  // Only its first text: from then on it keeps its own, and what is put in from outside comes by the effect below.
  const first = useRef(text);
  useEffect(() => {
    if (parent.current === null) return;
    const made = new EditorView({
      parent: parent.current,
      state: EditorState.create({
        doc: first.current,
        extensions: [
          EditorView.cspNonce.of(nonce),
          EditorView.contentAttributes.of({ 'aria-label': label, spellcheck: 'false', tabindex: '0' }),
          EditorState.readOnly.of(isReadOnly),
          lineNumbers(),
          yaml(),
          syntaxHighlighting(COLORS),
          keymap.of([...defaultKeymap, ...historyKeymap, ...lintKeymap]),
          LOOK,
          ...(isReadOnly ? [] : [history(), highlightActiveLine(), indentUnit.of('  '), lintGutter()]),
          EditorView.updateListener.of(({ docChanged, state }) => {
            if (docChanged) changed.current?.(state.doc.toString());
          }),
        ],
      }),
    });
    view.current = made;
    return () => {
      first.current = made.state.doc.toString();
      made.destroy();
      view.current = null;
    };
  }, [label, isReadOnly, nonce]);

  useEffect(() => {
    const { current } = view;
    if (current === null || current.state.doc.toString() === text) return;
    current.dispatch({ changes: { from: 0, to: current.state.doc.length, insert: text } });
  }, [text]);

  useEffect(() => {
    const { current } = view;
    current?.dispatch(setDiagnostics(current.state, diagnosticsOf(current.state, mistakes)));
  }, [mistakes]);

  useImperativeHandle(ref, () => ({
    goTo: (line, column) => {
      const { current } = view;
      if (current === null) return;
      const at = positionOf(current.state, line, column);
      current.dispatch({
        selection: { anchor: at },
        effects: EditorView.scrollIntoView(at, { y: 'center' }),
      });
      current.focus();
    },
  }));

  return <div ref={parent} />;
}

/** A text may have fewer lines than the one that was checked: it changes while the answer comes. */
function positionOf({ doc }: EditorState, line: number, column: number): number {
  const { from, to } = doc.line(Math.min(Math.max(line, 1), doc.lines));
  return Math.min(from + Math.max(column, 1) - 1, to);
}

const diagnosticsOf = (state: EditorState, mistakes: readonly Mistake[]): Diagnostic[] =>
  mistakes.flatMap((mistake) => {
    if (mistake.line === null) return [];
    const from = positionOf(state, mistake.line, mistake.column ?? 1);
    return [
      { from, to: state.doc.lineAt(from).to, severity: 'error', message: mistakeText(mistake) } as const,
    ];
  });

const COLORS = HighlightStyle.define([
  { tag: tags.definition(tags.propertyName), color: 'light-dark(#364fc7, #91a7ff)', fontWeight: '600' },
  { tag: [tags.string, tags.special(tags.string)], color: 'light-dark(#216e39, #8ce99a)' },
  { tag: tags.lineComment, color: 'var(--console-quiet)', fontStyle: 'italic' },
  { tag: [tags.labelName, tags.typeName, tags.keyword, tags.meta], color: 'light-dark(#862e9c, #e599f7)' },
  { tag: [tags.separator, tags.squareBracket, tags.brace], color: 'var(--console-quiet)' },
]);

const LOOK = EditorView.theme({
  '&': {
    maxHeight: 'max(360px, calc(100vh - 280px))',
    border: '1px solid var(--console-line)',
    borderRadius: 'var(--mantine-radius-md)',
    backgroundColor: 'var(--mantine-color-body)',
    color: 'var(--mantine-color-text)',
    fontSize: '13px',
  },
  '&.cm-focused': { outline: '2px solid var(--mantine-primary-color-filled)', outlineOffset: '-1px' },
  '.cm-scroller': {
    fontFamily: 'var(--mantine-font-family-monospace)',
    lineHeight: '1.55',
    overflow: 'auto',
  },
  '.cm-content': { minHeight: '320px', paddingBlock: '8px', caretColor: 'var(--mantine-color-text)' },
  '.cm-gutters': {
    border: 'none',
    borderRadius: 'var(--mantine-radius-md)',
    backgroundColor: 'var(--mantine-color-body)',
    color: 'var(--console-quiet)',
  },
  '.cm-activeLine': { backgroundColor: 'var(--console-hover)' },
  '.cm-tooltip': {
    border: '1px solid var(--console-line)',
    backgroundColor: 'var(--mantine-color-body)',
    color: 'var(--mantine-color-text)',
  },
});

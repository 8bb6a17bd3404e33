// What is being written in a composer: its text, files and choices. Kept on the device at the moment of typing.
import { useEffect, useRef, useState } from "react";
import type { Choices, Extras } from "../drafts/index.ts";
import type { Prompts } from "./prompts.ts";
import { sentFiles, useFiles, type Files } from "./use-files.ts";

export interface WrittenDraft {
  text: string;
  choices: Choices;
  files: Files;
  write: (text: string) => void;
  choose: (choices: Choices) => void;
  extras: () => Extras;
  /** Empties it after it was sent. */
  clear: (choices?: Choices) => void;
}

export function useDraft(prompts: Prompts): WrittenDraft {
  const [text, setText] = useState("");
  const [choices, setChoices] = useState<Choices>({});
  const files = useFiles();
  const now = useRef({ text, choices });
  const isLoaded = useRef(false);
  const { list, restore } = files;

  const extrasOf = (): Extras => {
    const sent = sentFiles(list);
    const chosen = now.current.choices;
    return {
      ...(sent.length > 0 && { files: sent }),
      ...(Object.keys(chosen).length > 0 && { choices: chosen }),
    };
  };
  const store = () => prompts.setDraft(now.current.text, extrasOf());
  const set = (next: { text: string; choices: Choices }) => {
    now.current = next;
    setText(next.text);
    setChoices(next.choices);
  };

  useEffect(() => {
    let isOver = false;
    const load = async () => {
      const draft = await prompts.load();
      if (isOver) return;
      const extras = prompts.extras();
      // What was typed meanwhile is newer.
      const { text: typed, choices: chosen } = now.current;
      set({ text: typed === "" ? draft : typed, choices: { ...extras.choices, ...chosen } });
      restore(extras.files ?? []);
      isLoaded.current = true;
    };
    void load();
    return () => {
      isOver = true;
    };
  }, [prompts, restore]);
  useEffect(() => {
    if (isLoaded.current) prompts.setDraft(now.current.text, extrasOf());
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- a file has been uploaded or has gone
  }, [prompts, list]);

  return {
    text,
    choices,
    files,
    write(next) {
      set({ ...now.current, text: next });
      store();
    },
    choose(next) {
      set({ ...now.current, choices: next });
      store();
    },
    extras: extrasOf,
    clear(left = {}) {
      set({ text: "", choices: left });
      prompts.setDraft("", Object.keys(left).length > 0 ? { choices: left } : {});
      files.clear();
    },
  };
}

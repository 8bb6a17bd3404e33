// The title of the tab, which histories and switchers show: the page, and how many requests wait for an answer.
import { useEffect } from "react";
import { words } from "../words/words.ts";
import { plainText } from "./plain.tsx";

let shown: string | undefined;
let waiting = 0;

function draw(): void {
  const title = shown === undefined ? words("product") : words("page.title", { page: shown });
  document.title = waiting === 0 ? title : `(${waiting}) ${title}`;
}

export function usePageTitle(page: string): void {
  useEffect(() => {
    shown = plainText(page);
    draw();
    return () => {
      shown = undefined;
      draw();
    };
  }, [page]);
}

export function useWaitingInTitle(count: number): void {
  useEffect(() => {
    waiting = count;
    draw();
    return () => {
      waiting = 0;
      draw();
    };
  }, [count]);
}
